# Left: magnitudes of the real Fourier transform by frequency. Grey: before; lines: after; dashed lines: the threshold of
# methods that keep Fourier bins. Right: the share of energy in the largest bins; points: what those methods keep.
# The array `show` has the series that are drawn; the data has all of them.
of_cut(k) = int(cut_series[k])
if (!is_text) set multiplot
set samples 2
set logscale y
set yrange [log_low(magnitude_low, magnitude_high):log_high(magnitude_low, magnitude_high)]
set format y '%.0e'
set xrange [0:0.5]
set xlabel 'frequency, cycles per element'
set ylabel 'magnitude of a bin'
set style fill solid 1 noborder
if (!is_text) eval panel(1)
if (shown > 0) {
    plot plot_data index 0 using "frequency":(has_rms ? column("rms") : column("largest")) with filledcurves y1=magnitude_low / 10 linecolor rgb '#d0d0d0', \
        for [k = 1:shown] '' index int(show[k]) using "frequency":(has_rms ? column("rms") : column("largest")) with lines linestyle int(show[k]), \
        '' index 0 using "frequency":"largest" with points pointtype 7 pointsize 0.3 linecolor rgb '#404040', \
        for [k = 1:cuts] '+' using (0):(cut_threshold[k]):(0.5):(0) every ::0::0 with vectors nohead linestyle of_cut(k) dashtype 2
} else {
    plot plot_data index 0 using "frequency":(has_rms ? column("rms") : column("largest")) with filledcurves y1=magnitude_low / 10 linecolor rgb '#d0d0d0', \
        '' index 0 using "frequency":"largest" with points pointtype 7 pointsize 0.3 linecolor rgb '#404040'
}
if (!is_text) {
    eval panel(2)
    unset logscale y
    set logscale x
    set format x '%g'
    set format y '%g'
    set xrange [0.0005:1]
    set yrange [0:1.02]
    set xlabel 'share of bins, the largest first'
    set ylabel 'share of energy in them'
    plot keyentry with boxes linecolor rgb '#d0d0d0' title (has_rms ? 'before, RMS' : 'before, largest'), \
        keyentry with points pointtype 7 pointsize 0.4 linecolor rgb '#404040' title 'before, largest bin', \
        for [k = 1:shown] keyentry with lines linestyle int(show[k]) title 'after '.label[int(show[k])], \
        plot_data index series + 1 using "density":"energy_share" with lines linecolor rgb '#404040' linewidth 2 title 'cumulative energy', \
        for [k = 1:cuts] '+' using (cut_density[k]):(cut_energy[k]) every ::0::0 with points linestyle of_cut(k) pointsize 1.4*mark title label[int(cut_series[k])].', kept'
    unset multiplot
}
