# A column for each method, a row for each tensor; the mean over steps and workers.
set palette defined (0 '#ffffff', 1 '#d6e4f0', 2 '#86b6d8', 3 '#3b7fb5', 4 '#154a7d', 5 '#0b1f3a')
set cbrange [0:1]
set cblabel 'relative L2 error (darkest: 1 and above)'
set xrange [0.5:series + 0.5]
set yrange [rows + 0.5:0.5]
unset grid
set border 0
set tics scale 0
set ytics font ',9'
set xtics rotate by 45 right font ',9'
set key off
unset key
if (rows_left_out > 0) set xlabel sprintf('the %d largest tensors; %d smaller ones are left out', rows, rows_left_out)
set lmargin at screen 240.0 / plot_width
set rmargin at screen 1 - 110.0 / plot_width
ink(x) = x > 0.55 ? 0xffffff : 0x303030
shown(x) = x == 0 ? '0' : x < 0.005 ? sprintf('%.0e', x) : sprintf('%.2f', x)
if (is_text) {
    set lmargin
    set rmargin
    unset colorbox
    set xlabel 'hundredths of the norm'
    shown(x) = sprintf('%2.0f', 100 * x)
    ink(x) = 0
}
plot plot_data using "column":"row":"rel_l2":xticlabels(label[int(column("column"))]):yticlabels(tensor[int(column("row"))]) with image, \
    '' using "column":"row":(shown(column("rel_l2"))):(ink(column("rel_l2"))) with labels font ',7' textcolor rgb variable
