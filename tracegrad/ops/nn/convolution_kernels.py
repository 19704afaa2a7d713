"""How NumPy computes convolutions of images: matrix products that stay in the cache.

Programs that convolve contain the source of these functions. So they need only NumPy and each
other. Shapes: images ``(batch, channels, *lengths)``, kernels ``(out_channels, channels // groups,
*kernel)``, one axis of lengths or more.

In a buffer with channels first and padding, rows follow each other in memory: an offset in the
kernel is an offset in memory, and the windows that start at every pixel are copied as rows as long
as the buffer, not as the image is wide. Windows over an edge are copied with them and not used: in
gradients they are multiplied by 0 (so an infinity in a kernel, or at an edge of x, makes nan).
"""

from __future__ import annotations

import numpy as np


def image_buffer(x, kernel, dtype, padding, stride, dilation):
    """Zeros for as many padded images of x as fit the cache with their windows.

    Returns the part where images go, a view of the windows that start there, (channels,
    *kernel, *starts), and the lengths of one result a start: stored, and of images.
    """
    none, one = ((0, 0),) * len(kernel), (1,) * len(kernel)
    padding, stride, dilation = padding or none, stride or one, dilation or one
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    places, stored, steps = [], [], [1]
    for m, (a, b), k, s in zip(x.shape[2:], padding, spans, stride):
        places.append((m + a + b - k) // s + 1)
        stored.append(m + max(a, b, a + b - k + 1))  # a margin serves on both sides
    for m in reversed(stored):
        steps.insert(0, m * steps[0])
    area, *steps = steps
    size = x.shape[1] * np.prod(kernel, dtype=int) * area * dtype.itemsize
    parts = max(-(-len(x) * size // 2**22), 1)
    count = max(-(-len(x) // parts), 1)
    first = sum(a * step for (a, _), step in zip(padding, steps))
    buffer = np.zeros((x.shape[1], first + count * area), dtype)
    images = buffer[:, first:].reshape(x.shape[1], count, *stored)
    inner = images[(..., *map(slice, x.shape[2:]))]
    unit, offsets = dtype.itemsize, [d * step for d, step in zip(dilation, steps)]
    if stride == one:
        last = sum((m - 1) * step for m, step in zip(places, steps))
        starts, apart = ((count - 1) * area + last + 1,), (1,)
    else:
        starts, stored = (count, *places), places
        apart = (area, *(s * step for s, step in zip(stride, steps)))
    shape = (x.shape[1], *kernel, *starts)
    strides = (buffer.strides[0], *(unit * step for step in (*offsets, *apart)))
    windows = np.lib.stride_tricks.as_strided(buffer, shape, strides)
    return inner, windows, stored, places


def correlate(x, w, padding=None, stride=None, dilation=None, groups=1):
    """The products of each window of the padded x with each kernel of w, summed.

    Padding of less than 0 takes away.
    """
    if padding and np.min(padding) < 0:
        cut = zip(x.shape[2:], padding)
        cut = (slice(max(-a, 0), m - max(-b, 0)) for m, (a, b) in cut)
        x, padding = x[(..., *cut)], [(max(a, 0), max(b, 0)) for a, b in padding]
    kernel, dtype, channels = w.shape[2:], np.result_type(x, w), len(w)
    buffer = image_buffer(x, kernel, dtype, padding, stride, dilation)
    inner, windows, stored, places = buffer
    count, size = inner.shape[1], np.prod(w.shape[1:], dtype=int)
    starts = np.prod(windows.shape[1 + len(kernel) :], dtype=int)
    kernels = w.reshape(groups, channels // groups, size)
    columns = np.empty(windows.shape, dtype)
    factors = columns.reshape(groups, size, starts)
    sums = np.empty((channels, count, *stored), dtype)
    area = count * np.prod(stored, dtype=int)
    results = sums.reshape(groups, channels // groups, area)[:, :, :starts]
    sums = sums[(..., *map(slice, places))]
    out = np.empty((len(x), channels, *places), dtype)
    for i in range(0, len(x), count):
        images = x[i : i + count].swapaxes(0, 1)
        inner[:, : images.shape[1]] = images
        columns[...] = windows
        np.matmul(kernels, factors, out=results)
        out[i : i + count] = sums[:, : images.shape[1]].swapaxes(0, 1)
    return out


def correlate_weight(x, ct, kernel, padding=None, stride=None, dilation=None, groups=1):
    """The transpose of `correlate` in w, whose kernels have these lengths."""
    dtype, channels, depth = np.result_type(x, ct), ct.shape[1], x.shape[1] // groups
    buffer = image_buffer(x, kernel, dtype, padding, stride, dilation)
    inner, windows, stored, places = buffer
    count, size = inner.shape[1], depth * np.prod(kernel, dtype=int)
    starts = np.prod(windows.shape[1 + len(kernel) :], dtype=int)
    columns = np.empty(windows.shape, dtype)
    left = columns.reshape(groups, size, starts)
    grid = np.zeros((channels, count, *stored), dtype)  # 0 for windows over an edge
    area = count * np.prod(stored, dtype=int)
    right = grid.reshape(groups, channels // groups, area)[:, :, :starts]
    grid, right = grid[(..., *map(slice, places))], right.swapaxes(1, 2)
    out = np.zeros((groups, size, channels // groups), dtype)
    for i in range(0, len(x), count):
        images = x[i : i + count].swapaxes(0, 1)
        inner[:, : images.shape[1]] = images
        columns[...] = windows
        grid[:, : images.shape[1]] = ct[i : i + count].swapaxes(0, 1)
        grid[:, images.shape[1] :] = 0.0
        out += left @ right
    return out.swapaxes(1, 2).copy().reshape(channels, depth, *kernel)


def correlate_input(ct, w, lengths, padding=None, stride=None, dilation=None, groups=1):
    """The transpose of `correlate` in x, which has these lengths when it is padded."""
    none, one = ((0, 0),) * len(lengths), (1,) * len(lengths)
    padding, stride, dilation = padding or none, stride or one, dilation or one
    dtype, kernel, places = np.result_type(ct, w), w.shape[2:], ct.shape[2:]
    channels, depth = len(w) // groups, w.shape[1]
    size, area = depth * np.prod(kernel, dtype=int), np.prod(places, dtype=int)
    kernels = w.reshape(groups, channels, size).swapaxes(1, 2)
    out = np.zeros((len(ct), groups * depth, *lengths), dtype)
    for image, ct_image in zip(out, ct):
        parts = kernels @ ct_image.reshape(groups, channels, area)
        parts = parts.reshape(groups * depth, *kernel, *places)
        for offset in np.ndindex(kernel):
            axes = zip(offset, places, stride, dilation)
            moved = (slice(k * d, k * d + m * s, s) for k, m, s, d in axes)
            image[(..., *moved)] += parts[(slice(None), *offset)]
    inner = (slice(a, m - b) for m, (a, b) in zip(lengths, padding))
    return out[(..., *inner)]


def correlate_back(ct, w, padding=None, dilation=None, groups=1):
    """The transpose of `correlate` in x where windows start everywhere.

    It is a convolution with kernels turned around, over a margin as wide as they reach. Where ct
    has many more channels than x, so that its windows are long, shifted products are added up.
    """
    channels, depth, *kernel = w.shape
    none, one = ((0, 0),) * len(kernel), (1,) * len(kernel)
    reach = [d * (k - 1) for d, k in zip(dilation or one, kernel)]
    if ct.size and channels >= 2 * groups * depth and np.min(padding or none) >= 0:
        outer = zip(ct.shape[2:], reach, padding or none)
        lengths = [m + k - a - b for m, k, (a, b) in outer]
        return correlate_adding(ct, w, lengths, padding, dilation, groups)
    margins = [(k - a, k - b) for k, (a, b) in zip(reach, padding or none)]
    parts = w.reshape(groups, channels // groups, depth, *kernel).swapaxes(1, 2)
    parts = parts.reshape(groups * depth, channels // groups, *kernel)
    parts = np.flip(parts, tuple(range(2, w.ndim)))
    return correlate(ct, parts, margins, None, dilation, groups)


def correlate_adding(ct, w, lengths, padding, dilation, groups):
    """The same for an x of these lengths: for each offset in the kernel long rows are added."""
    dtype, (channels, depth, *kernel) = np.result_type(ct, w), w.shape
    out = np.empty((len(ct), groups * depth, *lengths), dtype)
    buffer = image_buffer(out, kernel, dtype, padding, None, dilation)
    inner, windows, stored, places = buffer
    count, starts = inner.shape[1], windows.shape[-1]
    kernels = w.reshape(groups, channels // groups, -1).swapaxes(1, 2)
    parts = np.empty(windows.shape, dtype)
    products = parts.reshape(groups, -1, starts)
    grid = np.zeros((channels, count, *stored), dtype)  # 0 for windows over an edge
    rows = grid.reshape(groups, channels // groups, -1)[:, :, :starts]
    grid = grid[(..., *map(slice, places))]
    for i in range(0, len(out), count):
        images = out[i : i + count].swapaxes(0, 1)
        grid[:, : images.shape[1]] = ct[i : i + count].swapaxes(0, 1)
        grid[:, images.shape[1] :] = 0.0
        np.matmul(kernels, rows, out=products)
        inner.base[...] = 0.0
        for offset in np.ndindex(*kernel):
            windows[(slice(None), *offset)] += parts[(slice(None), *offset)]
        images[...] = inner[:, : images.shape[1]]
    return out
