# Left: the time of an exchange. Right: how much faster it is than without compression; rings where a curve crosses 1.
if (!is_text) set multiplot
set logscale xy
set format '%g'
set xrange [log_low(bandwidth_low, bandwidth_high):log_high(bandwidth_low, bandwidth_high)]
set xlabel 'bandwidth of a link, Gbit/s'
set key off
if (!is_text) {
    set lmargin at screen 0.085
    set rmargin at screen 0.39
    set ylabel 'seconds for an exchange'
    set yrange [log_low(seconds_low, seconds_high):log_high(seconds_low, seconds_high)]
    plot for [i = 1:series] plot_data index i - 1 using "bandwidth":"seconds" with linespoints linestyle line_of(style[i])
    unset label 1001; unset label 1002; unset label 1003
    set lmargin at screen 0.455
    set rmargin at screen 0.745
    set key on at screen 0.76, graph 1 left top
}
if (is_text) set key on
set ylabel 'times faster than fp32'
set yrange [log_low(speedup_low, speedup_high):log_high(speedup_low, speedup_high)]
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead linecolor rgb '#404040' linewidth 1 back
plot for [i = 1:series] plot_data index i - 1 using "bandwidth":"speedup" with linespoints linestyle line_of(style[i]) title label[i], \
    plot_data index series using "bandwidth":(1) with points pointtype 6 pointsize 2.2 linewidth 1.5 linecolor rgb '#D55E00' title 'break-even'
if (!is_text) unset multiplot
