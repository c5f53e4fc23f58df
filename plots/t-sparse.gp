# Left: times of a sparse exchange (lines) and a dense one (dashed), by number of workers. Right: how many bytes the sparse
# exchange sends, in units of the dense one; marks of different sizes show curves that coincide.
if (!is_text) set multiplot
set xlabel 'workers'
set logscale x 2
set logscale y 10
set format '%g'
set xrange [workers_low / 1.1:workers_high * 1.1]
if (!is_text) {
    eval panel(1)
    set ylabel 'milliseconds for an exchange'
    set yrange [log_low(ms_low, ms_high):log_high(ms_low, ms_high)]
    set ytics (@ms_tics)
    ms(name) = has_times ? 1000 * column(name) : 1e-30
    if (!has_times) { set yrange [0.1:1]; set label 1 'times need --model-bytes' at graph 0.5, graph 0.5 center textcolor rgb '#404040' }
    plot for [i = 1:series] plot_data index i - 1 using "workers":(ms("sparse_seconds")) with linespoints linestyle i, \
        for [i = 1:series] '' index i - 1 using "workers":(ms("dense_seconds")) with lines linestyle i dashtype 2
    unset label 1
    eval panel(2)
}
set ylabel 'bytes, sparse / dense'
set yrange [log_low(bytes_low, bytes_high):log_high(bytes_low, bytes_high)]
set ytics (@bytes_tics)
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead linecolor rgb '#404040' linewidth 1 back
plot for [i = 1:series] plot_data index i - 1 using "workers":"bandwidth_ratio" with linespoints linestyle i pointsize (1 + 0.6 * (series - i))*mark title label[i], \
    keyentry with lines linecolor rgb '#404040' title (is_text ? '' : 'sparse'), keyentry with lines linecolor rgb '#404040' dashtype 2 title (is_text ? '' : 'dense')
if (!is_text) unset multiplot
