// Package docker drives the docker command: it finds or installs it, starts the
// daemon when none answers, and knows what of this machine decides how nodes that
// are containers must be run.
package docker
