// Package harness holds the parts that all kinds of end-to-end tests share. It starts two clusters, embedded or
// kind (Main, East, West), and deploys an application that moves between them while an auditor watches (Move).
// It also runs the managers that move the application (Manager, ManagerReplicas), and defines the moments of a
// move at which a test acts (Moment).
package harness
