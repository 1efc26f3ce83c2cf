"""Programs that send bytes back, by each way to talk: `serve` and `client`.

python -m benchmarks.echoes serve post 127.0.0.1 5700
python -m benchmarks.echoes measure post 127.0.0.1 5700 1,1024,1048576 0.5
python -m benchmarks.echoes forward NAME ADDRESS STOP=ADDRESS ...
"""
