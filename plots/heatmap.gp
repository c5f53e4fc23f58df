# A column for each method, a row for each tensor: the mean error over steps and workers.
set palette defined (0 '#ffffff', 1 '#d6e4f0', 2 '#86b6d8', 3 '#3b7fb5', 4 '#154a7d', 5 '#0b1f3a')
set cbrange [0:1]
set cblabel 'relative L2 error (darkest: 1 and above)' offset 0.5, 0
set xrange [0.5:series + 0.5]
set yrange [rows + 0.5:0.5]
unset grid
set border 0
set tics scale 0
set ytics font small
set xtics rotate by 45 right font small
set key off
note = rows_left_out > 0 ? sprintf('the %d largest tensors; %d smaller tensors are left out', rows, rows_left_out) : ''
if (columns_left_out) note = note.(note eq '' ? '' : '; ').sprintf('the first %d settings; more are left out', series)
if (note ne '') set xlabel note
set lmargin at screen 240.0 / plot_width
set rmargin at screen 1 - 110.0 / plot_width
set bmargin at screen 150.0 / plot_height
ink(x) = x > 0.5 ? 0xffffff : 0x303030
# two digits, because the colour says the rest
shown(x) = x == 0 ? '0' : x < 0.0095 ? '<.01' : x < 0.995 ? sprintf('%.2f', x)[2:4] : x < 9.95 ? sprintf('%.1f', x) : x < 999.5 ? sprintf('%.0f', x) : '>999'
column_name(i) = label[i]
if (is_text) {
    # letters stand for the columns; the lines below explain them
    column_name(i) = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv'[i:i]
    unset lmargin
    unset rmargin
    unset bmargin
    unset colorbox
    legend = series > 18 ? 'error in tenths' : 'error in hundredths'.(note eq '' ? '' : '; '.note)
    line = ''
    lines = 3
    do for [i = 1:series] {
        entry = column_name(i).' '.label[i]
        if (strlen(line) + strlen(entry) > 70) {
            legend = legend."\n".line
            line = ''
            lines = lines + 1
        }
        line = line.(line eq '' ? '' : '  ').entry
    }
    set xlabel legend."\n".line
    set bmargin lines + 1
    set xtics norotate
    shown(x) = series > 18 ? (x < 0.95 ? sprintf('%.0f', 10 * x) : '+') : sprintf('%2.0f', 100 * x)
    ink(x) = 0
}
set style fill solid 1 noborder
if (is_text) {
    plot plot_data using "column":"row":(shown(column("rel_l2"))):xticlabels(column_name(int(column("column")))):yticlabels(tensor[int(column("row"))]) with labels
} else {
    plot plot_data using (column("column")):(column("row")):(column("column") - 0.5):(column("column") + 0.5):(column("row") - 0.5):(column("row") + 0.5):(column("rel_l2")):xticlabels(column_name(int(column("column")))):yticlabels(tensor[int(column("row"))]) with boxxyerror fillcolor palette, \
        '' using "column":"row":(shown(column("rel_l2"))):(ink(column("rel_l2"))) with labels font small textcolor rgb variable
}
