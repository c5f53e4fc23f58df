# One row for each comparison: new / old with its 95 % interval. A change inside of the grey band counts as equal.
set xlabel 'new / old (right: slower, larger, worse)'.(rows_same > 0 ? sprintf("\n%d unchanged sizes and errors are not shown", rows_same) : '').(rows_left_out > 0 ? sprintf('; %d more rows are left out', rows_left_out) : '')
set logscale x
ratio_low = ratio_low < 0.8 ? ratio_low : 0.8
ratio_high = ratio_high > 1.25 ? ratio_high : 1.25
set xrange [ratio_low / 1.05:ratio_high * 1.05]
set yrange [rows + 0.7:0.3]
set xtics (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
if (ratio_high < 6 * ratio_low) set xtics (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5)
set format x '%g'
set ytics scale 0 font small
unset grid
set key at screen 0.5, screen 10.0 / plot_height center bottom horizontal maxrows 1 samplen 1.5 font small width 0
set bmargin at screen 122.0 / plot_height
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linecolor rgb '#404040' linewidth 1 back
set style fill solid 1 noborder
if (is_text) {
    unset bmargin
    set key below
}
verdicts = 'same better worse inconclusive'
kinds = '#404040 #009E73 #D55E00 #E69F00'
marks = '7 9 5 6'
plot plot_data using (column("ratio")):(column("row")):(column("delta_low")):(column("delta_high")):(column("row") - 0.45):(column("row") + 0.45):yticlabels(label[int(column("row"))]) with boxxyerror linecolor rgb '#e8e8e8' title 'counts as equal', \
    for [k = 1:4] '' using (column("kind") == k ? column("ratio") : NaN):(column("row")):(column("low")):(column("high")) with xerrorbars pointtype int(word(marks, k)) pointsize 0.9*mark linewidth 1.5 linecolor rgb word(kinds, k) title (is_text ? '' : word(verdicts, k)), \
    for [k = 1:4] keyentry with points pointtype int(word(marks, k)) title (is_text ? word(verdicts, k) : '')
