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

struct check_case *check_cases(size_t *count, size_t stride)
{
    const size_t by_hand = sizeof(more) / sizeof(*more);
    struct check_case *list;

    *count = 0;
    contract_generate(NULL);
    list = calloc(contract_count + by_hand, sizeof(*list));
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
    return list;
}
