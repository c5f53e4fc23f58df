# The compression ratio above which compression pays, by bandwidth. Dashed: the ratio that the method reaches; it pays where
# this line is above the curve. A curve ends at the bandwidth from which no ratio pays.
set xlabel 'bandwidth of the link, Gbit/s'.(left_out > 0 ? sprintf('; left out: %d methods that pay only on slower links', left_out) : '')
set ylabel 'compression ratio'
set logscale xy
set format '%g'
set xrange [log_low(bandwidth_low, bandwidth_high):log_high(bandwidth_low, bandwidth_high)]
set yrange [0.9:log_high(ratio_low, ratio_high)]
set xtics (@bandwidth_tics)
set ytics (@ratio_tics)
plot for [i = 1:series] plot_data index i - 1 using "bandwidth_gbit":"least_ratio" with linespoints linestyle i title label[i].', k_min', \
    for [i = 1:series] '' index i - 1 using "bandwidth_gbit":"ratio_vs_fp32" with lines linestyle i dashtype 2 title has_ratio[i] == 1 ? label[i].', reached' : ''
