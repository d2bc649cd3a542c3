//go:build race

package model

// raceDetector says whether the tests run under it: everything takes ten times as long.
const raceDetector = true
