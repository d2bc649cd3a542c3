// Package measure holds the common parts of the benchmarks of moves. They are the application, the contenders
// "sliceshift, as a command" and "the manager", the counting of their requests, and the table of figures and goals.
package measure
