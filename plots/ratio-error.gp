# Compression ratio against relative L2 error: higher and further left is better.
set xlabel 'relative L2 error'
set ylabel 'compression ratio, input bytes / message bytes'
set logscale xy
set xrange [log_low(error_low, error_high):log_high(error_low, error_high)]
set yrange [log_low(ratio_low, ratio_high):log_high(ratio_low, ratio_high)]
set format '%g'
# What is exact, or a baseline far below the methods, stands on the axis.
floor_of_x = log_low(error_low, error_high)
shown(x) = x < floor_of_x ? floor_of_x : x
plot for [i = 1:series] plot_data index i - 1 using (shown(column("rel_l2"))):"ratio" with linespoints linestyle line_of(style[i]) title label[i]
