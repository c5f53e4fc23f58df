# Left: the energy in bands of the real Fourier transform, as shares of the input's energy: grey
# before compression, lines after it. Right: the share of energy in the largest bins of the input;
# points show the share of bins that methods keep.
band(s, name) = strcol("by") eq 'frequency' && column("series") == s ? column(name) : NaN
eval extent('energy', 'column("energy")', 'strcol("by") eq "frequency" && column("series") == 0 && v > 0')
if (energy_low > energy_high) { energy_low = 0.1; energy_high = 1 }
eval open(800 + 110 + legend_width, 520)
if (!is_text) { set multiplot }
set key off
eval box(95, plot_width - 405, 88, 60)
eval log_axis('y', log_low(energy_low, energy_high), log_high(energy_low, energy_high), '')
set xrange [0:0.5]
set xlabel 'frequency, cycles per element'
set ylabel 'share of the energy in a band'
set style fill solid 1 noborder
plot plot_data using (band(0, "frequency")):"energy" with filledcurves y1=energy_low / 10 linecolor rgb '#d0d0d0', \
    for [g = 1:greys] '' using (strcol("by") eq 'frequency' && is_grey(0) ? column("frequency") : NaN):"energy" with lines linestyle 1000, \
    for [k = 1:named] '' using (band(named + 1 - k, "frequency")):"energy" with lines linestyle named + 1 - k
if (!is_text) {
    eval close_heading
    unset logscale y
    set ytics auto
    set logscale x
    set format x '%g'
    eval box(495, plot_width - 800, 88, 60)
    set xrange [0.0005:1]
    set yrange [0:1.02]
    set xlabel 'share of bins, the largest first'
    set ylabel 'share of energy in them'
    set key on at screen 795 / plot_width, graph 1 left top vertical Left reverse samplen 2 spacing 1.15
    # For series k: the share of bins that it keeps (2: none), and the energy of the input in them.
    array share[series > 0 ? series : 1]
    array energy[series > 0 ? series : 1]
    do for [k = 1:series] { share[k] = 2; energy[k] = -1 }
    stats plot_data using (k = strcol("by") eq 'kept' ? int(column("series")) : 1, share[k] = strcol("by") eq 'kept' ? column("density") : share[k], 1) nooutput
    kept = ''
    do for [k = 1:named] {
        if (share[k] <= 1) {
            kept = kept.sprintf(' %d', k)
            d = 0; e = 0; found = 0
            stats plot_data using (w = strcol("by") eq 'magnitude' && column("series") == 0 && !found, hit = w && column("density") >= share[k], found = found || hit, \
                energy[k] = hit ? e + (column("energy_share") - e) * (share[k] - d) / (column("density") - d) : energy[k], \
                d = w ? column("density") : d, e = w ? column("energy_share") : e, 1) nooutput
        }
    }
    plot keyentry with boxes linecolor rgb '#d0d0d0' title 'before', \
        for [k = 1:named] keyentry with lines linestyle k title 'after '.label[k], \
        for [k = 1:greys] keyentry with lines linestyle 1000 title grey, \
        plot_data using (strcol("by") eq 'magnitude' && column("series") == 0 ? column("density") : NaN):"energy_share" with lines linecolor rgb '#404040' linewidth 2 title 'cumulative energy', \
        for [k in kept] '+' using (share[at(k)]):(energy[at(k)]) every ::0::0 with points linestyle at(k) pointsize 1.4*mark, \
        for [k = 1:words(kept) > 0] keyentry with points pointtype 5 linecolor rgb '#404040' pointsize 1.4*mark title 'kept by a method'
    unset multiplot
}
