"""Where the benchmark authors' multi-hot vectors of Criteo CTR have the values of each column."""

import numpy as np

# position of the first value of I1..I13, C1..C26
OFFSETS = np.array(
    [0, 75, 233, 355, 402, 689, 857, 976, 1051, 1156, 1161, 1190, 1258, 1337, 2779, 3332, 179112, 307620, 307924,
     307942, 319871, 320499, 320501, 361724, 366883, 541717, 544891, 544917, 556170, 721375, 721384, 725988, 728004,
     728007, 900328, 900345, 900359, 956814, 956899]
) + np.arange(39)  # fmt: skip
