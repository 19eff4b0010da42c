"""The ground on which every room stands: errors, disk, settings, console, devices, processes."""
