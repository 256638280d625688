"""What is shipped: everything below the four packages, and the folder data/ under the name usercal_data."""

from setuptools import find_packages, setup

ROOMS = ("annotate", "simulate", "calibrate", "apps")

setup(
    py_modules=["usercal"],
    packages=[*find_packages(include=[name for room in ROOMS for name in (room, f"{room}.*")]), "usercal_data"],
    package_dir={"usercal_data": "data"},
    # Task folders, prompts, templates and migrations are files of the package above them, whatever their names.
    package_data={"": ["**/*"]},
    exclude_package_data={"": ["*.pyc", "**/*.pyc", "**/__pycache__/*"]},
    include_package_data=False,
)
