# The picture on README's first screen. To draw it again:
#   for c in cpu h200; do gcbench payoff datasets/sample.h5 --params 25M --bandwidth 10Gb --workers 2..128 --coding $c \
#       --method range:bits=8,collective=twoshot --method qsgd:bits=4,collective=twoshot --format csv -q >$c.csv; done
#   gnuplot docs/images/ways.gp
set terminal svg size 1000,380 font 'DejaVu Sans,14' background '#ffffff'
set output 'docs/images/ways.svg'
set datafile separator ','
set datafile missing NaN
ways = "'fp16 allreduce' 'range:bits=8 twoshot' 'qsgd:bits=4 twoshot'"
names = "'fp16' '8 bits' '4 bits'"
errors = "'exact to 3 digits' 'error 0.03, nearly exact' 'error 0.3, noise'"
colours = '#000000 #21719F #007A59'
set logscale x 2
set xrange [2:128]
set yrange [0:160]
set xlabel 'workers'
set xtics 2, 2, 128 nomirror
set ytics 0, 25 nomirror
set border 3 linecolor rgb '#606060'
set grid ytics linecolor rgb '#e8e8e8'
unset key
set tmargin at screen 0.88
set bmargin at screen 0.16
ms(i) = strcol("label") eq word(ways, i) ? 1e3 * column("seconds") : NaN
last(i) = strcol("label") eq word(ways, i) && column("workers") == 128 ? 1e3 * column("seconds") : NaN
set multiplot
do for [panel = 1:2] {
    set lmargin at screen panel == 1 ? 0.065 : 0.475
    set rmargin at screen panel == 1 ? 0.405 : 0.815
    if (panel == 1) { set ylabel 'exchange of 100 MB, ms' } else { unset ylabel }
    set label 1 (panel == 1 ? 'coded by one thread of a CPU' : 'coded by an NVIDIA H200') at graph 0, 1.08 left
    file = panel == 1 ? 'cpu.csv' : 'h200.csv'
    do for [i = 1:3] {
        stats file using (last(i)) nooutput
        if (panel == 2) { set label 1 + i word(names, i)."\n".word(errors, i) at 128, STATS_max left offset 1, 0.4 textcolor rgb word(colours, i) font ',12' }
    }
    plot for [i = 1:3] file using "workers":(ms(i)) with linespoints linecolor rgb word(colours, i) linewidth 2 \
        pointtype 5 + 2 * (i > 1) + 2 * (i > 2) pointsize 0.5
}
