# Measured exchanges, the fastest first: bars of the phases, which were measured with a barrier before each round, and the whole
# exchange as a point with its interval. A dashed line marks the fastest of fp32, fp16 and bf16, whose rows are shaded. Beside a bar
# stand its time, how many times as fast it is as that best one, and the error of the mean, if rows of `payoff` say it.
room = is_text ? 1.45 : 1.02
set xrange [0:time_high * room]
set x2range [0:1]
set yrange [rows + 0.6:0.4]
set xtics (@time_tics)
set xlabel 'time of an exchange'.(rows_left_out > 0 ? sprintf('; %d slower methods are left out', rows_left_out) : '')
set ytics scale 0
unset grid
set grid xtics linecolor rgb '#d0d0d0' linewidth 0.7
set key at screen 0.5, screen 10.0 / plot_height center bottom horizontal maxrows 2
set bmargin at screen 112.0 / plot_height
set style fill solid 1 noborder
if (is_text) {
    unset bmargin
    set key below
} else {
    set rmargin at screen 1 - (remark_width + 22) / plot_width
}
if (best == best && !is_text) set arrow 1 from best, graph 0 to best, graph 1 nohead front dashtype 2 linecolor rgb '#808080' linewidth 1
row(x) = column("row")
shaded(x) = column("baseline") == 1 ? x : NaN
high(x) = or_else("seconds_high", column("seconds"))
end(x) = high(0) > column("sum") ? high(0) : column("sum")
plot plot_data using (shaded(time_high * room / 2)):(row(0)):(0):(time_high * room):(row(0) - 0.5):(row(0) + 0.5) with boxxyerror linecolor rgb '#ececec' notitle, \
    '' using (column("encode") / 2):(row(0)):(0):(column("encode")):(row(0) - 0.34):(row(0) + 0.34):yticlabels(label[int(column("row"))]) with boxxyerror linecolor rgb '#303030' title 'encode', \
    '' using (column("wire")):(row(0)):(column("encode")):(column("wire")):(row(0) - 0.34):(row(0) + 0.34) with boxxyerror linecolor rgb '#c0c0c0' title 'wire', \
    '' using (column("sum")):(row(0)):(column("wire")):(column("sum")):(row(0) - 0.34):(row(0) + 0.34) with boxxyerror linecolor rgb '#808080' title 'sum', \
    '' using (column("seconds")):(row(0)):(or_else("seconds_low", column("seconds"))):(or_else("seconds_high", column("seconds"))) with xerrorbars pointtype 7 pointsize 0.7*mark linewidth 1 linecolor rgb '#0072B2' title 'whole exchange', \
    '' using (is_text ? end(0) : NaN):(row(0)):(remark[int(column("row"))]) with labels left offset 1.2, 0 notitle, \
    '' using (is_text ? NaN : 1):(row(0)):(remark[int(column("row"))]) axes x2y1 with labels left offset 1.2, 0 font small textcolor rgb '#404040' notitle
