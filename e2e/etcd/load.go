package main

import (
	"fmt"
	"os"
	"strings"
)

// machineLoad is how many processes ran or waited to on this machine, over the last minute:
// figures of a machine that does other work besides are those of that work too.
func machineLoad() (string, error) {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", err
	}
	load, _, ok := strings.Cut(string(content), " ")
	if !ok {
		return "", fmt.Errorf("/proc/loadavg says %q", content)
	}
	return load, nil
}
