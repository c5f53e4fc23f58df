#ifndef KERNELS_INDEX_GOLOMB_ELEM_H
#define KERNELS_INDEX_GOLOMB_ELEM_H

#include "kernels/base/hd.h"

#define GCB_GOLOMB_PARAMETERS 31 /* the largest parameter; 0 is allowed, too */

/* Returns 1 - (phi - 1)^(2^-(b-1)) for b = 1 to GCB_GOLOMB_PARAMETERS, where phi is the golden
 * ratio. Up to this density of kept positions, the best parameter is b or more. */
GCB_HD double gcb_golomb_density(unsigned b)
{
    static const double thresholds[GCB_GOLOMB_PARAMETERS] = {
        0.38196601125010515,    0.21384862224257672,    0.11334822068783774,
        0.05837811234436449,    0.029627964306660624,   0.014925365419787404,
        0.007490738289958024,   0.0037524094332564077,  0.0018779680987181053,
        0.0009394253093149434,  0.00046982302149323424, 0.00023493910893907167,
        0.00011747645482825534, 5.8739952605143694e-05, 2.9370407612993524e-05,
        1.468531163568568e-05,  7.34268277533801e-06,   3.67134812706754e-06,
        1.8356757483864967e-06, 9.178382954068166e-07,  4.5891925300684866e-07,
        2.2945965282929047e-07, 1.1472983299611253e-07, 5.7364918143423184e-08,
        2.868245948305333e-08,  1.4341229844362103e-08, 7.170614947889911e-09,
        3.5853074803721703e-09, 1.7926537417928889e-09, 8.963268712981454e-10,
        4.481634357494979e-10,
    };

    return thresholds[b - 1];
}

/* The Rice parameter b of Golomb's code if p = kept / n of the positions are kept, by SBC's rule: b
 * = 1 + floor(log2(log(phi - 1) / log(1 - p))), limited to 0..GCB_GOLOMB_PARAMETERS. A table of
 * thresholds replaces the logarithms, whose last bits differ between machines. */
GCB_HD unsigned gcb_golomb_parameter(uint64_t kept, uint64_t n)
{
    const double p = n ? (double)kept / (double)n : 1.0;
    unsigned b = 0;

    while (b < GCB_GOLOMB_PARAMETERS && p <= gcb_golomb_density(b + 1))
        b++;
    return b;
}

#endif
