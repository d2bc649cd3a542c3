// Package model tests the plan of a migration against a model of two clusters in which everything
// fails that can: TestModel explores every state within bounds, TestModelOfMethods does where claims are copied, move by
// snapshots or stay behind, TestMachine draws long runs, and the other tests replay single ones. It has tests alone.
package model
