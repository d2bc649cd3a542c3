// Package model tests the plan of a migration against a model of two clusters with all kinds of faults.
// TestModel explores every state within bounds. TestModelOfMethods does so for claims that are copied, restored
// from snapshots, or left behind. TestMachine draws long random runs, and the other tests replay single runs.
// The package contains only tests.
package model
