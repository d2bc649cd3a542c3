// Package manual reads the commands that the pages of the documentation show, and says which test runs which: those that
// need more than a cluster, such as a registry or Docker, are run by the test that has what they need.
package manual
