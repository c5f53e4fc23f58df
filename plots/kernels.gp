# A row for each kernel with a point for each instruction set. Whiskers are 95 % intervals of the
# median.
eval extent('speed', 'column("gbps")', '1')
eval extent('row', 'column("row")', '1')
rows = row_high > 90 ? 90 : row_high
eval open(900, is_text ? 200 + 22 * rows : 185 + 20 * rows)
eval log_axis('x', log_low(speed_low, speed_high), log_high(speed_low, speed_high), '')
set yrange [rows + 0.7:0.3]
set xlabel 'float32 input per second, GB/s (1e9 bytes)'.(row_high > rows ? sprintf('; %d kernels are left out', row_high - rows) : '')
set ytics scale 0 font small
if (!is_text) { set grid ytics }
if (is_text) { set key bottom outside center horizontal maxcols 3 } else {
    set key at screen 0.5, screen 8 / plot_height center bottom horizontal maxrows 1
    set bmargin at screen 82 / plot_height
}
shown(x) = column("row") <= rows ? x : NaN
plot plot_data using (shown(column("gbps"))):"row":yticlabels(strcol("kernel")) with dots linecolor rgb '#ffffff', \
    for [k = 1:series] '' using (row_of(k) && !is_text ? shown(column("gbps")) : NaN):"row":(or_else("low", column("gbps"))):(or_else("high", column("gbps"))) with xerrorbars linestyle k dashtype 1, \
    for [k = 1:series] '' using (row_of(k) ? shown(column("gbps")) : NaN):"row" with points linestyle k title label[k]
