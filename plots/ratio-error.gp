# Compression ratio against relative L2 error: higher and further left is better.
set xlabel 'relative L2 error'
set ylabel 'compression ratio, input bytes / message bytes'
set logscale xy
set xrange [log_low(error_low, error_high):log_high(error_low, error_high)]
set yrange [log_low(ratio_low, ratio_high):log_high(ratio_low, ratio_high)]
set format '%g'
if (error_high < 300 * error_low) set xtics (@steps_of_error)
if (ratio_high < 300 * ratio_low) set ytics (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
# Exact methods, and baselines far below the other methods, stand on the axis.
floor_of_x = log_low(error_low, error_high)
shown(x) = x < floor_of_x ? floor_of_x : x
plot for [k in curves] plot_data index at(k) - 1 using (shown(column("rel_l2"))):"ratio" with linespoints linestyle line_of(style[at(k)]) title label[at(k)], \
    for [k in singles] plot_data index at(k) - 1 using (shown(column("rel_l2"))):"ratio" with points linestyle line_of(style[at(k)]) title label[at(k)]
