// Package charts holds the Helm chart. Its objects are those of config/, to which it links. Its tests compare the two
// with helm itself.
package charts
