// Package charts holds the Helm chart. Its objects are those of config/, to which it links; its tests
// hold the two together, with helm itself.
package charts
