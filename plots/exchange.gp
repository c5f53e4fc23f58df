# Measured exchanges, the fastest first: bars of the phases, which were measured with a barrier before each round, and the whole
# exchange as a point with its interval. A dashed line marks the fastest of fp32, fp16 and bf16, whose rows are shaded.
set xrange [0:1000 * longest * 1.35]
set yrange [rows + 0.6:0.4]
set format x '%g'
set xlabel 'milliseconds for an exchange'.(rows_left_out > 0 ? sprintf('; %d slower methods are left out', rows_left_out) : '')
set ytics scale 0
unset grid
set grid xtics linecolor rgb '#d0d0d0' linewidth 0.7
set key at screen 0.5, screen 10.0 / plot_height center bottom horizontal maxrows 1
set bmargin at screen 88.0 / plot_height
set style fill solid 1 noborder
if (is_text) {
    unset bmargin
    set key below
}
if (best == best) set arrow 1 from 1000 * best, graph 0 to 1000 * best, graph 1 nohead front dashtype 2 linecolor rgb '#808080' linewidth 1
ms(name) = 1000 * column(name)
row(x) = column("row")
shaded(x) = column("baseline") == 1 ? x : NaN
times(x) = best == best ? sprintf('%.3g ms, %.3gx', ms("seconds"), column("speedup")) : sprintf('%.3g ms', ms("seconds"))
high(x) = 1000 * or_else("seconds_high", column("seconds"))
end(x) = high(0) > ms("sum") ? high(0) : ms("sum")
plot plot_data using (shaded(675 * longest)):(row(0)):(0):(1350 * longest):(row(0) - 0.5):(row(0) + 0.5) with boxxyerror linecolor rgb '#ececec' notitle, \
    '' using (ms("encode") / 2):(row(0)):(0):(ms("encode")):(row(0) - 0.34):(row(0) + 0.34):yticlabels(label[int(column("row"))]) with boxxyerror linecolor rgb '#E69F00' title 'encode', \
    '' using (ms("wire")):(row(0)):(ms("encode")):(ms("wire")):(row(0) - 0.34):(row(0) + 0.34) with boxxyerror linecolor rgb '#56B4E9' title 'wire', \
    '' using (ms("sum")):(row(0)):(ms("wire")):(ms("sum")):(row(0) - 0.34):(row(0) + 0.34) with boxxyerror linecolor rgb '#009E73' title 'sum', \
    '' using (ms("seconds")):(row(0)):(or_else("seconds_low", column("seconds")) * 1000):(or_else("seconds_high", column("seconds")) * 1000) with xerrorbars pointtype 7 pointsize 0.7*mark linewidth 1 linecolor rgb '#000000' title 'whole exchange', \
    '' using (end(0)):(row(0)):(times(0)) with labels left offset 1.2, 0 font small textcolor rgb '#404040' notitle
