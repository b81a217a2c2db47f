// The votes of the window without their zeros, and the classifier's shares s = softmax(sum_m tau_m log f_m + bias).
#include "learning_parts.hpp"

namespace quorate {

// The votes of the window without their zeros, so that an item with n votes costs n, not K. Items without votes are left
// out: they contribute nothing.
Evidence compress(InFloatCube log_predictions, InIntGrid votes, Frame& frame) {
    Int num_items = votes.rows, num_classes = votes.columns, filled = 0, most = 0, num_voted = 0;
    for (Int item = 0; item < num_items; item++) {
        Int total = 0;
        for (Int count : votes[item]) total += count, filled += count > 0;
        most = std::max(most, total);
        num_voted += total > 0;
    }
    Evidence evidence;
    Ints voted = frame.ints(num_voted);
    evidence.first = frame.int_zeros(num_voted + 1);
    evidence.classes = frame.ints(filled), evidence.sizes = frame.ints(filled), evidence.items = frame.ints(filled);
    evidence.more_than = frame.int_zeros(most);
    Int place = 0, t = 0;
    for (Int item = 0; item < num_items; item++) {
        Int total = 0;
        for (Int k = 0; k < num_classes; k++) {
            Int count = votes(item, k);
            if (count == 0) continue;
            evidence.classes[place] = k, evidence.sizes[place] = count, evidence.items[place] = t;
            total += count;
            place++;
        }
        if (total > 0) {
            evidence.more_than[total - 1]++;
            voted[t++] = item;
            evidence.first[t] = place;
        }
    }
    for (Int s = most - 2; s >= 0; s--) evidence.more_than[s] += evidence.more_than[s + 1];
    evidence.log_predictions = log_predictions;
    if (num_voted < num_items) {
        Int size = log_predictions.rows * log_predictions.columns;
        Floats kept = frame.floats(num_voted * size);
        for (Int i = 0; i < num_voted; i++) std::copy_n(log_predictions.data + voted[i] * size, size, kept.data + i * size);
        evidence.log_predictions = {kept.data, num_voted, log_predictions.rows, log_predictions.columns};
    }
    return evidence;
}

Traces empty_traces(const Evidence& evidence, Frame& frame) {
    Int num_items = evidence.first.size - 1, filled = evidence.classes.size;
    return {frame.grid(num_items, evidence.log_predictions.columns), frame.floats(filled), frame.floats(filled),
            frame.grid(num_items, 3)};
}

namespace {

constexpr double PREDICTION_FLOOR = 1e-9;  // of quorate.validate

// max_k row_k and sum_k row_k, by four partial results, which run in parallel.
double highest_of(InFloats row) {
    double a = row[0], b = a, c = a, d = a;
    Int whole = row.size & ~Int{3};
    for (Int k = 0; k < whole; k += 4) {
        a = row[k] > a ? row[k] : a;
        b = row[k + 1] > b ? row[k + 1] : b;
        c = row[k + 2] > c ? row[k + 2] : c;
        d = row[k + 3] > d ? row[k + 3] : d;
    }
    for (Int k = whole; k < row.size; k++) a = row[k] > a ? row[k] : a;
    a = b > a ? b : a;
    c = d > c ? d : c;
    return c > a ? c : a;
}

double total_of(InFloats row) {
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    Int whole = row.size & ~Int{3};
    for (Int k = 0; k < whole; k += 4) a += row[k], b += row[k + 1], c += row[k + 2], d += row[k + 3];
    for (Int k = whole; k < row.size; k++) a += row[k];
    return (a + b) + (c + d);
}

}  // namespace

// softmax(sum_m tau_m log f_m + bias): log_predictions (T, M, K) -> out (T, K).
void softmax_rows(InFloats packed, InFloatCube log_predictions, FloatGrid out) {
    Frame frame;
    Int num_classifiers = log_predictions.rows, num_classes = log_predictions.columns;
    Int num_logs = 2 + num_classifiers * num_classes;
    Floats bias = frame.zeros(num_classes);
    const double lowest_log = std::log(PREDICTION_FLOOR) - 0.1;
    double lowest = 0.0;  // a bound of all logits: above LEAST none of them underflows
    if (packed.size > num_logs) {
        double highest = packed[num_logs];
        for (Int k = 0; k < num_classes; k++) highest = std::max(highest, packed[num_logs + k]);
        for (Int k = 0; k < num_classes; k++) {
            bias[k] = packed[num_logs + k] - highest;
            lowest = std::min(lowest, bias[k]);
        }
    }
    for (Int m = 0; m < num_classifiers; m++) {
        double steepest = 0.0;
        for (Int k = 0; k < num_classes; k++) steepest = std::max(steepest, packed[2 + m * num_classes + k]);
        lowest += steepest * lowest_log;
    }
    for (Int t = 0; t < out.rows; t++) {
        double* __restrict row = out[t].data;
        const double *spoken = log_predictions(t, 0).data, *tau = packed.data + 2;
        for (Int k = 0; k < num_classes; k++) row[k] = bias[k] + tau[k] * spoken[k];
        for (Int m = 1; m < num_classifiers; m++) {
            tau += num_classes, spoken += num_classes;
            for (Int k = 0; k < num_classes; k++) row[k] += tau[k] * spoken[k];
        }
    }
    if (!(lowest > LEAST)) {
        for (Int t = 0; t < out.rows; t++) {
            double highest = highest_of(out[t]);
            for (double& each : out[t]) each -= highest;
        }
    }
    exponentiate(out.flat());
    for (Int t = 0; t < out.rows; t++) {
        double scale = 1.0 / total_of(out[t]);
        for (double& each : out[t]) each *= scale;
    }
}

}  // namespace quorate
