package main

import (
	"fmt"
	"os"
	"strings"
)

// machineLoad returns the average number of running or waiting processes on this machine over the last minute. Other
// work on the machine affects the figures.
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
