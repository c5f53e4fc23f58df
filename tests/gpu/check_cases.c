#include "tests/gpu/check_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/contract/cases.h"

/* What no table can tell: branches of launchers, lengths of chunks, densities. */
static const char *const more[] = {
    "range:bits=5,mantissa=2",
    "range:bits=16,mantissa=11",
    "range:bits=12,max=1.5",
    "range:bits=7,max=0.25,mantissa=3",
    "range:max=1e-60",
    "range:bits=9,max=1e30,mantissa=5,rounding=truncate",
    "qsgd:bits=2,bucket=1",
    "qsgd:bits=8,bucket=4",
    "qsgd:bits=16,bucket=4096,norm=l2",
    "qsgd:levels=1,bucket=100",
    "qsgd:levels=5,bucket=100,norm=l2",
    "qsgd:bits=3,bucket=5000",
    "qsgd:levels=32767,bucket=9000,norm=l2",
    "qsgd:bucket=1000000,norm=l2",
    "qsgd:bucket=1000000",
    "qsgd:coding=elias,levels=32767,bucket=9000",
    "qsgd:coding=elias-sparse,levels=1,norm=l2",
    "qsgd:coding=elias-sparse,bits=8,bucket=100",
    "terngrad:clip=0",
    "terngrad:clip=0.5,packing=base3",
    "terngrad:clip=0,packing=base3",
    "stc:p=0.1",
    "sbc:p=0.3,index=adaptive",
    "dgc:density=0.05,index=elias-fano",
    "redsync:dense-below=0,trimmed-below=0,density=0.01",
    "redsync:dense-below=0,trimmed-below=1000,density=0.1,quant=asq",
    "sparse:select=threshold,threshold=0.5,values=means,index=varint",
    "sparse:select=trimmed,density=0.01,values=fp16,index=golomb",
    "sparse:density=0.3,values=sign-mean,index=adaptive",
    "sparse:density=0.001,values=uniform,bits=5,index=block",
    "sparse:density=0.9,index=golomb",
    "sparse:density=1,values=fp16,index=elias-fano",
    "sparse:select=chunk,chunk=100,density=0.1",
    "sparse:select=chunk,chunk=20001,density=0.1,index=bitmap",
    "sparse:transform=hadamard,chunk=64,select=chunk,density=0.1",
    "sparse:transform=dct,chunk=64,density=0.1",
    "sparse:transform=dct,chunk=1000,density=0.1",
    "sparse:transform=dct,chunk=48,select=chunk,density=0.1,index=bitmap",
    "sparse:transform=fft,chunk=4096,select=chunk,density=0.0078125",
    "sparse:transform=fft,chunk=63,values=sign-mean,index=bitmap",
};

/* More than 1056 tiles of 4096 of what is kept, when that is four of five; or 8 times as many, for kernels whose warps
 * take a tile each. */
#define WIDE UINT64_C(5500001)
#define WIDER UINT64_C(71000003)

/* What loops only where the defaults do not lead, or only at still greater sizes. */
static const struct check_case wide[] = {
    {"range:mantissa=4", .wide = WIDE},
    {"qsgd:bucket=100,norm=l2", .wide = WIDE},
    {"sparse:theta=0.2,values=sign-mean,index=u32", .wide = WIDE},
    {"sparse:theta=0.2,transform=fft,chunk=63,index=bitmap", .wide = WIDE},
    {"sparse:theta=0.2,transform=fft,chunk=1,values=sign-mean,index=bitmap", .wide = WIDE},
    {"sparse:theta=0.2,transform=fft,chunk=4096,select=chunk,index=bitmap", .wide = WIDE},
    {"sparse:theta=0.2,transform=dct,chunk=48,index=bitmap", .wide = WIDE},
    {"sparse:theta=0.2,transform=dct,chunk=1000,select=chunk,index=bitmap", .wide = WIDE},
    {"sparse:theta=0.2,transform=dct,chunk=4096,select=chunk,index=bitmap", .wide = WIDE},
    {"sparse:theta=0.2,transform=hadamard,chunk=64,index=bitmap", .wide = WIDE},
    {"sparse:theta=0.2,select=chunk,chunk=100,index=bitmap", .wide = WIDE},
    {"sparse:theta=0.2,select=chunk,chunk=20001,index=bitmap", .wide = WIDER},
    {"sparse:theta=0.01,values=fp16,index=bitmap", .wide = WIDER},
    {"sparse:theta=0.01,values=means,index=bitmap", .wide = WIDER},
    {"sparse:theta=0.01,values=sign-mean,index=bitmap", .wide = WIDER},
    {"sparse:theta=0.01,select=sampled,values=fp16,index=bitmap", .wide = WIDER},
    {"sparse:theta=0.5,select=search,index=bitmap", .wide = WIDER},
    {"redsync:dense-below=0,trimmed-below=0,density=0.1,index=bitmap", .wide = WIDER},
    {"dgc", .wide = WIDER}, /* the sample does not suffice, or it does: by step */
    {"dgc:density=0.002", .wide = WIDER},
    {"dgc:density=0.003", .wide = WIDER},
    {"sparse:theta=0.01,select=one-sided,index=bitmap", .wide = 2 * WIDER}, /* of one sign: half */
};

/* How many choices are not their codec's default; a number that is not makes it many. */
static size_t choices_made(const struct gcb_method *m)
{
    const struct gcb_param *p;
    size_t made = 0;

    for (size_t row = 0; row < gcb_param_count(m->codec->params); row++) {
        p = &m->codec->params[row];
        if (m->value[row] != p->def)
            made += p->type == GCB_PARAM_CHOICE ? 1 : 100;
    }
    return made;
}

static void add(struct check_case *list, size_t *count, const struct gcb_method *m, bool brief)
{
    struct check_case *c = &list[*count];

    gcb_method_spec(c->spec, sizeof(c->spec), m, GCB_SPEC_FULL);
    c->brief = brief;
    (*count)++;
}

static bool belongs(const struct contract_case *c, bool brief, size_t i, size_t stride)
{
    const bool whole = !c->brief || (!c->method.preset && choices_made(&c->method) == 1);

    return brief ? !whole && i % stride == 0 : whole;
}

/* Keeps four of five, in a message that is shorter than the tensor, or it would go raw: with a bitmap, or of signs. */
static void keep_most(struct gcb_method *m)
{
    double index;

    if (!gcb_method_value(m, "index", &index))
        return;
    if (gcb_method_value(m, "theta", NULL))
        gcb_method_set(m, "theta", "0.2", NULL);
    else
        gcb_method_set(m, "values", "fp16", NULL);
    if (index != 0.0)
        gcb_method_set(m, "values", "sign-mean", NULL);
    else
        gcb_method_set(m, "index", "bitmap", NULL);
}

static void add_wide(struct check_case *list, size_t *count)
{
    for (size_t i = 0; i < contract_count; i++) {
        struct gcb_method m = contract_cases[i].method;

        gcb_method_forget(&m);
        if (!belongs(&contract_cases[i], false, i, 1))
            continue;
        if (!m.preset)
            keep_most(&m);
        add(list, count, &m, false);
        list[*count - 1].wide = WIDE;
    }
    memcpy(&list[*count], wide, sizeof(wide));
    *count += sizeof(wide) / sizeof(*wide);
}

struct check_case *check_cases(size_t *count, size_t stride, bool with_wide)
{
    const size_t by_hand = sizeof(more) / sizeof(*more);
    struct check_case *list;

    *count = 0;
    contract_generate(NULL);
    list = calloc(2 * contract_count + by_hand + sizeof(wide) / sizeof(*wide), sizeof(*list));
    if (!list)
        return NULL;
    for (int brief = 0; brief < 2; brief++) {
        for (size_t i = 0; i < contract_count; i++) {
            struct gcb_method m = contract_cases[i].method;

            gcb_method_forget(&m); /* memories stand around coders */
            if (belongs(&contract_cases[i], brief, i, stride))
                add(list, count, &m, brief);
            if (!contract_cases[i].brief && !brief) /* as a user names it */
                snprintf(list[*count - 1].spec, sizeof(list->spec), "%s", m.name);
        }
        for (size_t i = 0; i < by_hand && !brief; i++)
            snprintf(list[(*count)++].spec, sizeof(list->spec), "%s", more[i]);
    }
    if (with_wide)
        add_wide(list, count);
    return list;
}
