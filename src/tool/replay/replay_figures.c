#include "src/tool/replay/replay_state.h"

#include <math.h>
#include <string.h>

/* ---- staleness ---- */

void gcb_staleness_add(struct gcb_staleness *s, const uint16_t *age, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        s->count[age[i]]++;
    s->total += n;
}

uint64_t gcb_staleness_at(const struct gcb_staleness *s, double share)
{
    const double wanted = ceil(share * (double)s->total);
    uint64_t seen = 0;

    for (uint64_t age = 0; age <= GCB_STALENESS_MAX; age++) {
        seen += s->count[age];
        if (s->total && (double)seen >= wanted)
            return age;
    }
    return 0;
}

uint64_t gcb_staleness_max(const struct gcb_staleness *s)
{
    uint64_t age = GCB_STALENESS_MAX;

    while (age > 0 && s->count[age] == 0)
        age--;
    return age;
}

static void count_ages(struct gcb_staleness *out, const struct gcb_replay_state *s)
{
    memset(out, 0, sizeof(*out));
    for (size_t j = 0; j < s->count; j++)
        for (uint32_t w = 0; w < s->workers; w++)
            gcb_staleness_add(out, s->messages[j].workers[w].age, s->messages[j].count);
}

/* ---- figures ---- */

static double ratio(double a, double b)
{
    return b > 0.0 ? a / b : a == 0.0 ? 0.0 : NAN;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

/*
 * True if the memory bounds the residual e. With plain error feedback ||e||^2 <= 4 (1 - d) / d^2
 * max ||g||^2 for gradients g and contraction d, whatever share of e is carried on. If a message
 * covers several steps, g is the sum of their gradients, whose norm is at most the sum of their
 * norms. Momentum adds more than the gradients, so there is no bound with momentum.
 */
static bool is_feedback(const struct gcb_memory_params *p)
{
    switch ((enum gcb_memory_kind)p->kind) {
    case GCB_MEMORY_EF:
    case GCB_MEMORY_DEMO:
        return true;
    case GCB_MEMORY_DGC:
    case GCB_MEMORY_DELAY:
    case GCB_MEMORY_GMC:
        return p->momentum == 0.0;
    case GCB_MEMORY_NONE:
        break;
    }
    return false;
}

/* Computes the figures that depend only on the messages. */
static void fill_figures(struct gcb_replay_figures *out, const struct gcb_replay_traffic *traffic)
{
    const bool sent = traffic->tally.messages > 0;
    struct gcb_fidelity_figures f;

    gcb_fidelity_figures(&f, &traffic->updates, 0.0);
    out->tally = traffic->tally;
    out->input_bytes = traffic->input_bytes;
    out->ratio = sent ? gcb_tally_ratio(&traffic->tally) : NAN;
    out->density = sent ? gcb_tally_density(&traffic->tally) : NAN;
    out->alpha = sent ? f.rel_l2 : NAN;
    out->cosine = sent ? f.cosine : NAN;
    out->rounds = traffic->rounds;
    memcpy(out->round_bytes, traffic->round_bytes, sizeof(out->round_bytes));
    out->link_bytes = 0;
    for (unsigned i = 0; i < traffic->rounds; i++)
        out->link_bytes += traffic->round_bytes[i];
    out->second_error = traffic->again ? sqrt(ratio(traffic->again_lost, traffic->again_sum)) : NAN;
    out->dropped = traffic->sparse ? ratio(traffic->selected.dd, traffic->selected.xx) : NAN;
    out->clamped_share = share(traffic->tuned_clamped, traffic->tuned_values);
}

/* Adds the norms of this step, and the sums for the bound of the residual. */
static void add_workers(struct gcb_replay_sums *sums, const struct gcb_replay_step_sums *added,
                        struct gcb_replay_step *step, bool sent)
{
    double gradient = 0.0, residual = 0.0, lost = 0.0;

    for (uint32_t w = 0; w < sums->workers; w++) {
        const struct gcb_replay_norms *n = &added->workers[w];
        const double part = ratio(n->lost, n->encoded);

        gradient += n->gradient;
        residual += n->residual;
        lost = part > lost || isnan(part) ? part : lost;
        sums->window[w] += sqrt(n->gradient);
        sums->gradient_sq = fmax(sums->gradient_sq, sums->window[w] * sums->window[w]);
        if (!sent)
            continue;
        sums->window[w] = 0.0;
        sums->residual_sq = fmax(sums->residual_sq, n->residual);
    }
    step->figures.gradient_norm = sqrt(gradient / sums->workers);
    step->figures.residual_norm =
        sums->memory.kind == GCB_MEMORY_NONE ? NAN : sqrt(residual / sums->workers);
    step->contraction = sent ? 1.0 - lost : NAN;
    if (sent)
        sums->lost = fmax(sums->lost, lost);
}

static void fill_step(struct gcb_replay_figures *out, const struct gcb_replay_step_sums *added,
                      const struct gcb_replay_sums *sums)
{
    const struct gcb_tally *tally = &added->traffic.tally;

    fill_figures(out, &added->traffic);
    out->union_density =
        tally->messages ? share(added->touched, tally->elements / sums->workers) : NAN;
    out->cumulative_error = sqrt(ratio(added->drift, added->owed));
    out->staleness_median = gcb_staleness_at(&sums->staleness, 0.5);
    out->staleness_p99 = gcb_staleness_at(&sums->staleness, 0.99);
    out->staleness_max = gcb_staleness_max(&sums->staleness);
}

static void add_traffic(struct gcb_replay_traffic *sum, const struct gcb_replay_traffic *added)
{
    gcb_tally_merge(&sum->tally, &added->tally);
    gcb_fidelity_merge(&sum->updates, &added->updates);
    sum->tuned_values += added->tuned_values;
    sum->tuned_clamped += added->tuned_clamped;
    sum->input_bytes += added->input_bytes;
    sum->rounds = added->rounds > sum->rounds ? added->rounds : sum->rounds;
    for (unsigned i = 0; i < added->rounds; i++)
        sum->round_bytes[i] += added->round_bytes[i];
    sum->again |= added->again;
    sum->again_sum += added->again_sum;
    sum->again_lost += added->again_lost;
    sum->sparse |= added->sparse;
    gcb_fidelity_merge(&sum->selected, &added->selected);
}

void gcb_replay_add_step(struct gcb_replay_sums *sums, const struct gcb_replay_state *state,
                         const struct gcb_replay_step_sums *added, struct gcb_replay_step *step,
                         struct gcb_replay_total *total)
{
    const struct gcb_replay_figures *f = &step->figures;
    const bool sent = added->traffic.tally.messages > 0;

    count_ages(&sums->staleness, state);
    fill_step(&step->figures, added, sums);
    add_workers(sums, added, step, sent);
    add_traffic(&sums->traffic, &added->traffic);
    total->steps++;
    total->figures = *f;
    total->residual_max =
        total->steps == 1 ? f->residual_norm : fmax(total->residual_max, f->residual_norm);
    if (!sent) {
        total->silent_steps++;
        total->unsent_steps++;
        return;
    }
    total->unsent_steps = 0;
    total->alpha_max = sums->sent_steps ? fmax(total->alpha_max, f->alpha) : f->alpha;
    sums->union_sum += f->union_density;
    sums->contraction_sum += step->contraction;
    sums->sent_steps++;
}

/* The largest squared residual / its bound. There is a bound only if the contraction d is above
 * 0. */
static double bound_ratio(const struct gcb_replay_sums *sums)
{
    const double lost = sums->lost, d = 1.0 - lost;

    if (!is_feedback(&sums->memory) || !(d > 0.0))
        return NAN;
    return ratio(sums->residual_sq, 4.0 * lost / (d * d) * sums->gradient_sq);
}

void gcb_replay_finish(const struct gcb_replay_sums *sums, struct gcb_replay_total *total)
{
    const bool sent = sums->sent_steps > 0;

    fill_figures(&total->figures, &sums->traffic);
    total->figures.union_density = sent ? sums->union_sum / (double)sums->sent_steps : NAN;
    total->alpha_max = sent ? total->alpha_max : NAN;
    total->contraction_min = sent ? 1.0 - sums->lost : NAN;
    total->contraction_mean = sent ? sums->contraction_sum / (double)sums->sent_steps : NAN;
    total->feedback = is_feedback(&sums->memory);
    total->bound_ratio = bound_ratio(sums);
}
