# One panel for each method: shares of values by sign and magnitude, on logarithmic axes; exact zeros in the middle.
set style fill solid 1 noborder
set logscale y
edge = 0.5 + decades
set xrange [-edge:edge]
set yrange [1e-7:2]
set ytics (1, 0.01, 0.0001, 0.000001) font small
step = decades > 6 ? 2 : 1
set xtics ('0' 0) font small
if (decades > 4) step = 2
short(s) = strlen(s) > 22 ? s[1:10].'..'.s[strlen(s) - 9:strlen(s)] : s
share_text(x) = x == 0 ? 'no zeros' : x < 0.0005 ? 'zeros below 0.1 %' : sprintf('zeros %.1f %%', 100 * x)
left(c) = (75.0 + (c - 1) * (plot_width - 90.0) / panel_columns) / plot_width
right(c) = (75.0 + c * (plot_width - 90.0) / panel_columns - 18.0) / plot_width
upper(r) = 1 - (104.0 + (r - 1) * (plot_height - 155.0) / panel_rows) / plot_height
lower(r) = 1 - (104.0 + r * (plot_height - 155.0) / panel_rows - 36.0) / plot_height
set boxwidth column
if (is_text) {
    set key top right
    plot plot_data index 0 using "position":"share" with impulses title 'gradient'
} else {
    set multiplot
    set key at screen 1 - 12.0 / plot_width, screen 1 - 12.0 / plot_height right top
    do for [p = 1:panels] {
        row = floor((p - 1) / panel_columns + 1)
        col = p - (row - 1) * panel_columns
        set lmargin at screen left(col)
        set rmargin at screen right(col)
        set tmargin at screen upper(row)
        set bmargin at screen lower(row)
        if (p == 2) { unset key; unset label 1001; unset label 1002; unset label 1003 }
        set format y (col == 1 ? '%g' : '')
        if (col == 1) { set ylabel 'share of values' font small } else { unset ylabel }
        set xtics ((p > panels - panel_columns ? '0' : '') 0) font small
        if (p > panels - panel_columns) { do for [d = int(decades) - 1:1:-step] { set xtics add (sprintf('1e%d', floor_decade + d) 0.5 + d); set xtics add (sprintf('-1e%d', floor_decade + d) -0.5 - d) } }
        if (p > panels - panel_columns) { set xlabel 'value, logarithmic both ways' font small } else { unset xlabel }
        set label 1 (methods > 0 ? short(label[p]) : 'gradient') at graph 0, graph 1.07 left front font small
        set label 2 share_text(methods > 0 ? zeros[p] : input_zeros) at graph 1, graph 1.07 right front font tiny textcolor rgb '#404040'
        if (methods > 0) {
            plot plot_data index 0 using "position":"share" with boxes linecolor rgb '#c4c4c4' title 'before', \
                '' index p using "position":"share" with histeps linecolor rgb '#0072B2' linewidth 1.2 title 'after', \
                '' index p using "position":"zeros" with impulses linecolor rgb '#D55E00' linewidth 3 title 'zeros after'
        } else {
            plot plot_data index 0 using "position":"share" with boxes linecolor rgb '#a0a0a0' notitle
        }
    }
    unset multiplot
}
