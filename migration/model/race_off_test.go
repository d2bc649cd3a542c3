//go:build !race

package model

// raceDetector reports whether the tests run under the race detector, which makes them ten times slower.
const raceDetector = false
