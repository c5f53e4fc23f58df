# Relative L2 error against bits per element: lower and further left is better.
set xlabel 'bits per element, all bytes counted'
set logscale x
set xrange [log_low(bits_low, bits_high):log_high(bits_low, bits_high)]
set xtics (0.003, 0.01, 0.03, 0.1, 0.3, 1, 2, 4, 8, 16, 32)
set ylabel 'relative L2 error'
set logscale y
set yrange [log_low(error_low, error_high):log_high(error_low, error_high)]
set format y '%g'
if (error_high < 300 * error_low) set ytics (@steps_of_error)
# Exact methods, and baselines far below the other methods, stand on the axis.
floor_of_y = log_low(error_low, error_high)
shown(y) = y < floor_of_y ? floor_of_y : y
plot for [k in curves] plot_data index at(k) - 1 using "bits":(shown(column("rel_l2"))) with linespoints linestyle line_of(style[at(k)]) title label[at(k)], \
    for [k in singles] plot_data index at(k) - 1 using "bits":(shown(column("rel_l2"))) with points linestyle line_of(style[at(k)]) title label[at(k)]
