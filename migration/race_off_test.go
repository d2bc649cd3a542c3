//go:build !race

package migration

// raceDetector says whether the tests run under it: everything takes ten times as long.
const raceDetector = false
