# A row for each method, the cheapest first: its bits per element at equal error, or its error at
# equal bytes. A grey method cannot meet the target; the row shows its nearest setting. Only a
# linear axis has bars, because a bar needs an axis that begins at 0.
rows = series > 40 ? 40 : series
# The cost at the target. Rows of older versions, and of methods that missed the target, have only
# that of their setting.
error_at(x) = or_else("match_error", column("rel_l2"))
cost(x) = of_error ? or_else("match_bits", column("bits_per_element")) : error_at(0)
eval extent('cost', 'cost(0)', 'v > 0 && column("series") <= rows')
is_wide = cost_high > 8 * cost_low
floor_of = is_wide ? log_low(cost_low, cost_high) / 1.6 : 0
top_of = is_wide ? cost_high * (cost_high / floor_of) ** (is_text ? 1.3 : 0.4) : cost_high * (is_text ? 1.8 : 1.4)
left = 25 + letter * widest
eval open(left + 560, is_text ? 200 + 22 * rows : 196 + 25 * rows)
eval box(left, 20, 88, 108)
if (is_wide) { eval log_axis('x', floor_of, top_of, '') } else { set xrange [floor_of:top_of] }
set yrange [rows + 0.6:0.4]
set xlabel (of_error ? 'bits per element, all bytes counted' : 'relative L2 error').(is_wide ? ', logarithmic axis' : '').(series > rows ? sprintf('; %d dearer methods are left out', series - rows) : '')
set ytics scale 0 font small
unset grid
set grid xtics linecolor rgb '#d0d0d0' linewidth 0.7
set style fill solid 1 noborder
if (is_text) { set key bottom outside center horizontal maxcols 3 } else {
    set key at screen 0.5, screen 8 / plot_height center bottom horizontal maxrows 1
}
met(v) = column("match_reached") == 1 && column("series") <= rows ? v : NaN
missed(v) = column("match_reached") == 1 || column("series") > rows ? NaN : v
bar = 'plot_data using (%s(cost(0))):"series":(floor_of):(cost(0)):(column("series") - 0.36):(column("series") + 0.36) with boxxyerror linecolor rgb "%s" title "%s"'
dot = 'plot_data using (%s(cost(0))):"series" with points pointtype 7 pointsize 1.3*mark linecolor rgb "%s" title "%s"'
remark(x) = sprintf('%.3gx, ', or_else("match_ratio", column("ratio"))).(of_cosine ? sprintf('cosine %.3f', column("cosine")) : sprintf('error %.3f', error_at(0)))
eval 'plot '.sprintf(is_wide ? dot : bar, 'met', '#0072B2', 'meets the target').', '.sprintf(is_wide ? dot : bar, 'missed', '#c9c9c9', 'cannot meet it: nearest setting') \
    .', plot_data using (column("series") <= rows ? cost(0) : NaN):"series":(remark(0)):yticlabels(row_name("")) with labels left offset 1.2, 0 font small textcolor rgb soft'
