# One panel for each method: grey the values that went in, blue those that came out; exact zeros are left out and counted.
set style fill solid 1 noborder
set xrange [-limit:limit]
set yrange [0:most * 1.25]
set format x '%g'
set format y '%g'
set xtics limit * 0.8 font small
set mxtics 2
set ytics font small
set samples 2
short(s) = strlen(s) > 22 ? s[1:10].'..'.s[strlen(s) - 9:strlen(s)] : s
share_text(x) = x == 0 ? 'no zeros' : x < 0.0005 ? 'zeros below 0.1 %' : sprintf('zeros %.1f %%', 100 * x)
left(c) = (75.0 + (c - 1) * (plot_width - 90.0) / panel_columns) / plot_width
right(c) = (75.0 + c * (plot_width - 90.0) / panel_columns - 18.0) / plot_width
upper(r) = 1 - (104.0 + (r - 1) * (plot_height - 155.0) / panel_rows) / plot_height
lower(r) = 1 - (104.0 + r * (plot_height - 155.0) / panel_rows - 36.0) / plot_height
if (is_text) {
    set key top right
    plot plot_data index 0 using "value":"share" with impulses title 'gradient'
} else {
    set multiplot
    set key at screen 1 - 12.0 / plot_width, screen 1 - 12.0 / plot_height right top
    do for [p = 1:panels] {
        row = (p - 1) / panel_columns + 1
        row = floor(row)
        col = p - (row - 1) * panel_columns
        set lmargin at screen left(col)
        set rmargin at screen right(col)
        set tmargin at screen upper(row)
        set bmargin at screen lower(row)
        if (p == 2) { unset key; unset label 1001; unset label 1002; unset label 1003 }
        set format y (col == 1 ? '%g' : '')
        if (col == 1) { set ylabel 'share of values' font small } else { unset ylabel }
        set format x (p > panels - panel_columns ? '%.1g' : '')
        if (p > panels - panel_columns) { set xlabel 'value' font small } else { unset xlabel }
        set label 1 (methods > 0 ? short(label[p]) : 'gradient') at graph 0, graph 1.07 left front font small
        set label 2 share_text(methods > 0 ? zeros[p] : input_zeros) at graph 1, graph 1.07 right front font tiny textcolor rgb '#404040'
        if (methods > 0) {
            plot plot_data index 0 using "value":"share" with boxes linecolor rgb '#c4c4c4' title 'before', \
                '' index p using "value":"share" with histeps linecolor rgb '#0072B2' linewidth 1.2 title 'after'
        } else {
            plot plot_data index 0 using "value":"share" with boxes linecolor rgb '#a0a0a0' notitle
        }
    }
    unset multiplot
}
