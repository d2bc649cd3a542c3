// Package manual reads the commands in the pages of the documentation, and maps them to the tests that run them. Commands
// that need more than a cluster, such as a registry or Docker, are run by the test that has it.
package manual
