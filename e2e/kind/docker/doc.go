// Package docker runs the docker command. It finds or installs it, starts the daemon if none answers, and inspects the
// properties of this machine that decide how nodes in containers must run.
package docker
