# Right answers on the test data: the median of the seeds at each test.
set xlabel 'seconds of training'
set logscale x
set format x '%g'
set xrange [log_low(place_low, place_high):log_high(place_low, place_high)]
set xtics (@place_tics)
set ylabel 'right answers on test data, per cent'
set yrange [low(quality_low, quality_high):high(quality_low, quality_high)]
plot for [k in curves] plot_data index at(k) - 1 using "place":"quality" with linespoints linestyle at(k) title label[at(k)], \
    for [k in singles] plot_data index at(k) - 1 using "place":"quality" with points linestyle at(k) title label[at(k)]
