from muster.live.eta.calculation import main

main()
