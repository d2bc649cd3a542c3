// Package measure holds what the benchmarks of moves share: the application that is
// moved, the contenders "sliceshift, as a command" and "the manager", the counting of
// their requests, and the table of figures and goals.
package measure
