// Package application searches the template and the ConfigMaps of a StatefulSet for texts whose meaning changes when
// its pods are in two places.
package application
