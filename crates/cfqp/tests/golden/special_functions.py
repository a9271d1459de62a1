"""Reference values of src/math/special.rs: python3 special_functions.py (mpmath 1.3)."""

import mpmath

mpmath.mp.dps = 40


def quantile(p):
    """z with Phi(z) = p, for 0 < p < 1."""
    start = -mpmath.sqrt(-2 * mpmath.log(min(p, 1 - p)))
    root = mpmath.findroot(lambda z: mpmath.log(mpmath.ncdf(z) / min(p, 1 - p)), start)
    return root if p <= mpmath.mpf(1) / 2 else -root


def table(name, function, arguments):
    for argument in arguments:
        print(f"{name}({argument!r}) = {float(function(mpmath.mpf(argument)))!r}")


table("normal_cdf", mpmath.ncdf, [-37.0, -10.0, -5.0, -1.0, 0.3, 1.0, 2.5])
table("normal_quantile", quantile, [1e-300, 1e-10, 0.001, 0.25, 0.75, 0.95])
table("normal_half_width", lambda level: -quantile((1 - level) / 2), [0.5, 0.8, 0.9, 0.95, 0.99, 0.9999])
table("ln_gamma", mpmath.loggamma, [0.001, 0.5, 2.5, 4.5, 20.0, 100.25, 5000.5])
