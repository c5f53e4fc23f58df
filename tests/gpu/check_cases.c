#include "tests/gpu/check_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/contract/cases.h"
#include "tests/support/device_sets.h"
#include "tests/support/device_slot.h"
#include "tests/support/device_trip.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* Cases that do not follow from the parameter tables: branches of launchers, lengths of chunks,
 * densities. */
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
    "randomk:theta=0",
    "randomk:theta=0.99,scaling=unbiased",
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

/* Elements for which the kept positions, four of five, fill more than 1056 tiles of 4096. WIDER: 8
 * times as many tiles, for kernels in which each warp takes a tile. */
#define WIDE UINT64_C(5500001)
#define WIDER UINT64_C(71000003)

/* Launches whose blocks take a second piece only with other settings than the defaults, or only at
 * larger sizes. */
static const struct check_case wide[] = {
    {"range:mantissa=4", CHECK_WIDE, WIDE},
    {"qsgd:bucket=30,norm=l2", CHECK_WIDE, WIDE},
    {"sparse:theta=0.2,values=sign-mean,index=u32", CHECK_WIDE, WIDE},
    {"sparse:theta=0.2,transform=fft,chunk=63,index=bitmap", CHECK_WIDE, WIDE},
    {"sparse:theta=0.2,transform=fft,chunk=1,values=sign-mean,index=bitmap", CHECK_WIDE, WIDE},
    {"sparse:theta=0.2,transform=fft,chunk=4096,select=chunk,index=bitmap", CHECK_WIDE, WIDE},
    {"sparse:theta=0.2,transform=dct,chunk=48,index=bitmap", CHECK_WIDE, WIDE},
    {"sparse:theta=0.2,transform=dct,chunk=1000,select=chunk,index=bitmap", CHECK_WIDE, WIDE},
    {"sparse:theta=0.2,transform=dct,chunk=4096,select=chunk,index=bitmap", CHECK_WIDE, WIDE},
    {"sparse:theta=0.2,transform=hadamard,chunk=64,index=bitmap", CHECK_WIDE, WIDE},
    {"sparse:theta=0.2,select=chunk,chunk=100,index=bitmap", CHECK_WIDE, WIDE},
    {"sparse:theta=0.2,select=chunk,chunk=20001,index=bitmap", CHECK_WIDE, WIDER},
    {"sparse:theta=0.01,values=fp16,index=bitmap", CHECK_WIDE, WIDER},
    {"sparse:theta=0.01,values=means,index=bitmap", CHECK_WIDE, WIDER},
    {"sparse:theta=0.01,values=sign-mean,index=bitmap", CHECK_WIDE, WIDER},
    {"sparse:theta=0.01,select=sampled,values=fp16,index=bitmap", CHECK_WIDE, WIDER},
    {"sparse:theta=0.5,select=search,index=bitmap", CHECK_WIDE, WIDER},
    {"redsync:dense-below=0,trimmed-below=0,density=0.1,index=bitmap", CHECK_WIDE, WIDER},
    {"dgc", CHECK_WIDE, WIDER}, /* the sample is too small in some steps */
    {"dgc:density=0.002", CHECK_WIDE, WIDER},
    {"dgc:density=0.003", CHECK_WIDE, WIDER},
    {"sparse:theta=0.01,select=one-sided,index=bitmap", CHECK_WIDE,
     2 * WIDER}, /* one sign has half of the elements */
    {"sparse:transform=dct,chunk=1000", CHECK_STEPS, WIDE},
    {"sparse:transform=fft,chunk=63", CHECK_STEPS, WIDE},
    {"qsgd", CHECK_SLOT, WIDE},
    {"topk:memory=ef", CHECK_SLOT, WIDE},
    {"topk:theta=0.2,index=bitmap", CHECK_SLOT, WIDE},
};

/* Number of choices that are not the codec's default. A number that is not the default counts as
 * 100. */
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

static void add(struct check_case *list, size_t *count, const struct gcb_method *m,
                enum check_kind kind)
{
    struct check_case *c = &list[*count];

    gcb_method_spec(c->spec, sizeof(c->spec), m, GCB_SPEC_FULL);
    c->kind = kind;
    (*count)++;
}

static void add_spec(struct check_case *list, size_t *count, const char *spec, enum check_kind kind)
{
    struct check_case *c = &list[*count];

    snprintf(c->spec, sizeof(c->spec), "%s", spec);
    c->kind = kind;
    (*count)++;
}

static bool belongs(const struct contract_case *c, bool brief, size_t i, size_t stride)
{
    const bool whole = !c->brief || (!c->method.preset && choices_made(&c->method) == 1);

    return brief ? !whole && i % stride == 0 : whole;
}

/* Keeps four of five positions in a message that is shorter than the tensor (with a bitmap, or of
 * signs only), because a longer one would be sent raw. */
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
        add(list, count, &m, CHECK_WIDE);
        list[*count - 1].count = WIDE;
    }
    memcpy(&list[*count], wide, sizeof(wide));
    *count += COUNT(wide);
}

static size_t names(const char *const *list)
{
    size_t n = 0;

    while (list[n])
        n++;
    return n;
}

static size_t quantisers(void)
{
    size_t n = 0;

    while (device_quantisers[n].spec)
        n++;
    return n;
}

struct check_case *check_cases(size_t *count, size_t stride, bool with_wide)
{
    const size_t by_hand = COUNT(more) + COUNT(wide) + names(device_slots) + quantisers();
    struct check_case *list;

    *count = 0;
    contract_generate(NULL, true);
    list = calloc(2 * contract_count + by_hand, sizeof(*list));
    if (!list)
        return NULL;
    for (int brief = 0; brief < 2; brief++) {
        for (size_t i = 0; i < contract_count; i++) {
            struct gcb_method m = contract_cases[i].method;

            gcb_method_forget(&m); /* the case tests the coder without its memory */
            if (belongs(&contract_cases[i], brief, i, stride))
                add(list, count, &m, brief ? CHECK_BRIEF : CHECK_WHOLE);
            if (!contract_cases[i].brief && !brief) /* by the name that users type */
                snprintf(list[*count - 1].spec, sizeof(list->spec), "%s", m.name);
        }
        for (size_t i = 0; i < COUNT(more) && !brief; i++)
            add_spec(list, count, more[i], CHECK_WHOLE);
    }
    for (size_t i = 0; device_quantisers[i].spec; i++)
        add_spec(list, count, device_quantisers[i].spec, CHECK_GROUP);
    for (size_t i = 0; device_slots[i]; i++)
        add_spec(list, count, device_slots[i], CHECK_SLOT);
    if (with_wide)
        add_wide(list, count);
    return list;
}

char *check_case_name(char *out, size_t size, const struct check_case *c)
{
    const char *how = c->kind == CHECK_GROUP   ? " (161 tensors in a group)"
                      : c->kind == CHECK_SLOT  ? " (slots)"
                      : c->kind == CHECK_STEPS ? " (with error feedback)"
                                               : "";

    if (c->count)
        snprintf(out, size, "%s%s (%" PRIu64 " elements)", c->spec, how, c->count);
    else
        snprintf(out, size, "%s%s", c->spec, how);
    return out;
}
