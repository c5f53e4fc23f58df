# Left: the time of an exchange. Right: how much faster it is than fp32; rings where a curve crosses 1.
if (!is_text) set multiplot
set logscale xy
set format '%g'
set xrange [log_low(bandwidth_low, bandwidth_high):log_high(bandwidth_low, bandwidth_high)]
set xlabel 'bandwidth of the link, Gbit/s'.(left_out > 0 ? sprintf('; %d doubtful methods left out', left_out) : '')
if (!is_text) {
    eval panel(1)
    set ylabel 'seconds per exchange'
    set yrange [log_low(seconds_low, seconds_high):log_high(seconds_low, seconds_high)]
    plot for [k in curves] plot_data index at(k) - 1 using "bandwidth":"seconds" with linespoints linestyle line_of(style[at(k)]), \
        for [k in singles] plot_data index at(k) - 1 using "bandwidth":"seconds" with points linestyle line_of(style[at(k)])
    eval panel(2)
}
set ylabel 'speed-up over fp32'
set yrange [log_low(speedup_low, speedup_high):log_high(speedup_low, speedup_high)]
if (speedup_high < 100 * speedup_low) set ytics (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead linecolor rgb '#404040' linewidth 1 back
plot for [k in curves] plot_data index at(k) - 1 using "bandwidth":"speedup" with linespoints linestyle line_of(style[at(k)]) title label[at(k)], \
    for [k in singles] plot_data index at(k) - 1 using "bandwidth":"speedup" with points linestyle line_of(style[at(k)]) title label[at(k)], \
    plot_data index series using "bandwidth":(1) with points pointtype (is_text ? 0 : 6) pointsize 2.2*mark linewidth 1.5 linecolor rgb '#D55E00' title 'break-even'
if (!is_text) unset multiplot
