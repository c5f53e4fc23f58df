# One row for each kernel, a point for each variant; whiskers are 95 % intervals of the median.
set logscale x
set xrange [log_low(speed_low, speed_high):log_high(speed_low, speed_high)]
set xtics (@speed_tics)
set yrange [rows + 0.7:0.3]
set format x '%g'
set xlabel 'float32 input per second, GB/s (1e9 bytes)'.(rows_left_out > 0 ? sprintf('; %d kernels are left out', rows_left_out) : '')
set ytics scale 0 font small
set grid ytics
set key at screen 0.5, screen 10.0 / plot_height center bottom horizontal maxrows 1
set bmargin at screen 98.0 / plot_height
if (is_text) {
    unset bmargin
    set key below
}
plot plot_data using (column("gbps")):(column("row")):yticlabels(kernel[int(column("row"))]) with dots linecolor rgb '#ffffff', \
    for [k = 1:series] '' using (int(column("isa")) == k ? column("gbps") : NaN):(column("row")):(or_else("low", column("gbps"))):(or_else("high", column("gbps"))) with xerrorbars linestyle k dashtype 1 title (is_text ? '' : label[k]), \
    for [k = 1:series] keyentry with points linestyle k title (is_text ? label[k] : '')
