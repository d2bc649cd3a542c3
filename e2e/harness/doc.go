// Package harness is what the kinds of end-to-end tests share: two clusters to work on, embedded
// or kind's (Main, East, West), an application that moves between them under the eyes of an
// auditor (Move), the managers that move it (Manager, ManagerReplicas), and the moments of a move
// at which a test does something (Moment).
package harness
